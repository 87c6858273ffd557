import numpy as np, itertools, scipy
from scipy import stats
print("SciPy", scipy.__version__)
x=np.array([[92.1,93.4,90.9,81.3],[86.9,88.0,84.2,76.2],[99.0,99.0,98.7,96.8],[74.3,81.6,55.2,38.9],[96.4,96.4,95.1,95.1],[91.5,93.4,90.9,83.0]])
r=stats.friedmanchisquare(*x.T); print('friedman',r.statistic,r.pvalue)
for k,q in [(2,0.05),(4,0.05),(10,0.05),(14,0.1)]:
    print(k,q,stats.studentized_range.ppf(1-q,k,np.inf)/np.sqrt(2))
print('nemenyi', stats.studentized_range.sf(1.5/np.sqrt(4*5/(6*6))*np.sqrt(2),4,np.inf))
a=[1.83,0.5,1.62,2.48,1.68,1.88,1.55,3.06,1.3]; b=[0.878,0.647,0.598,2.05,1.06,1.29,1.06,3.14,1.29]
print('wilcoxon',stats.wilcoxon(a,b,method='exact').pvalue)
c=np.array([3,1,2,2,5,4,0]);d=np.array([1,2,1,1,1,1,0])
z=(c-d); z=z[z!=0]; rk=stats.rankdata(abs(z)); W=rk[z>0].sum(); tot=rk.sum()
vals=[sum(r for r,s in zip(rk,sg) if s) for sg in itertools.product([0,1],repeat=len(z))]
print('ties',np.mean([abs(v-tot/2)>=abs(W-tot/2)-1e-9 for v in vals]), (2*W-tot)/tot)
rng=np.arange(1,81); e=np.where(rng%3==0,-1,1)*rng*0.1
print('approx',stats.wilcoxon(e,method='approx',correction=False).pvalue)
